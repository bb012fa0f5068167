BEGIN TRANSACTION;
CREATE TABLE account (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    budget   INTEGER NOT NULL CHECK (budget > 0),
    spent    INTEGER NOT NULL CHECK (spent >= 0 AND spent <= budget)
) STRICT;
INSERT INTO "account" VALUES(1,2000000000,600000000);
CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    content  TEXT NOT NULL,
    head     TEXT NOT NULL
) STRICT;
INSERT INTO "entry" VALUES(1,'{"sequence":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","body":{"type":"genesis","owner":"First Bank","dataset":"492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470","nano_epsilon":1000000000,"delta":0.0,"accountant":"pure","budget":1000000000,"measure":"epsilon"}}','cb5e4c340d8077b30af8bf808122c9ef92d317dd6d6c4af6f1a10f435ff7e136');
INSERT INTO "entry" VALUES(2,'{"sequence":2,"previous":"cb5e4c340d8077b30af8bf808122c9ef92d317dd6d6c4af6f1a10f435ff7e136","body":{"type":"charge","query":"q0","question":"?0","nano":200000000,"study":"study"}}','51e28cfb3feab7fe229b2b34011ee85c4e1d2dfd8284ea8cba08ccbb73bc16da');
INSERT INTO "entry" VALUES(3,'{"sequence":3,"previous":"51e28cfb3feab7fe229b2b34011ee85c4e1d2dfd8284ea8cba08ccbb73bc16da","body":{"type":"answered","query":"q0","payload":"0a477707a14fa1293f4cf1ea92ce71a57e336d8e693064ec5ae7c30861711cce"}}','5d649abf74260defbaf262a59013173d72e9177fb78f769e9986c3690ac4b6cb');
INSERT INTO "entry" VALUES(4,'{"sequence":4,"previous":"5d649abf74260defbaf262a59013173d72e9177fb78f769e9986c3690ac4b6cb","body":{"type":"charge","query":"q1","question":"?1","nano":200000000,"study":"study"}}','0565115dd50648c964ed85a5b578651b3fc31de0643e4af4f2988473ed8797d9');
INSERT INTO "entry" VALUES(5,'{"sequence":5,"previous":"0565115dd50648c964ed85a5b578651b3fc31de0643e4af4f2988473ed8797d9","body":{"type":"answered","query":"q1","payload":"6c94683a02bdda38721278e54660a42216fb0f28ea9c4677d0e6f03ebe37b1b5"}}','bf6054947c6dec8f6e12227d63e16e0e1207cf7590d89b17dfffb7bd671ffd4d');
INSERT INTO "entry" VALUES(6,'{"sequence":6,"previous":"bf6054947c6dec8f6e12227d63e16e0e1207cf7590d89b17dfffb7bd671ffd4d","body":{"type":"charge","query":"q2","question":"?2","nano":200000000,"study":"study"}}','6d26b3fe6166549354436e91830c9c7e03da8471a91035578041fe84c037fd8d');
INSERT INTO "entry" VALUES(7,'{"sequence":7,"previous":"6d26b3fe6166549354436e91830c9c7e03da8471a91035578041fe84c037fd8d","body":{"type":"epoch","nano_epsilon":2000000000,"delta":0.0,"budget":2000000000,"signed_off_by":"an officer"}}','7a200bb33c887f4760e9671f2206c14e22af1d6a9698454e9d6e8a694d53e18a');
CREATE TABLE payload (
    query TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "payload" VALUES('q0',X'616E737765722030');
INSERT INTO "payload" VALUES('q1',X'616E737765722031');
CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER payload_no_update BEFORE UPDATE ON payload BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER payload_no_delete BEFORE DELETE ON payload BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
COMMIT;
