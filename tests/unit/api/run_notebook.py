"""Run a notebook to its end in a folder: python run_notebook.py NOTEBOOK FOLDER. The result is FOLDER/done.ipynb.

It is run with ipykernel's own specification, so that nobody has to have installed a kernel by hand.
"""

import sys
from pathlib import Path

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient


def main(source, folder):
    notebook = nbformat.read(source, as_version=4)
    manager = AsyncKernelManager()
    manager._kernel_spec = KernelSpec(**get_kernel_dict())
    NotebookClient(notebook, timeout=300, km=manager, resources={"metadata": {"path": folder}}).execute()
    nbformat.write(notebook, Path(folder) / "done.ipynb")


if __name__ == "__main__":
    main(*sys.argv[1:])
