"""The same server and clients in Flower's simulation engine: `python simulate.py REPORT CLIENTS ROUNDS`."""

import sys
from pathlib import Path

from client_app import app as client_app
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation
from server_app import write_times


def main() -> None:
    """Run the rounds in virtual clients; one core is enough for each."""
    report, clients, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    server_app = ServerApp()

    @server_app.main()
    def serve(grid: Grid, _context: Context) -> None:
        write_times(grid, report, clients, rounds)

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app, client_app, num_supernodes=clients, backend_config=resources)


if __name__ == "__main__":
    main()
