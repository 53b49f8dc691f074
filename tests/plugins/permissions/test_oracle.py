"""What was allowed is what runs: commands at random, run by real Bash among recorders."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from noeta.plugins.permissions import Lists, decide, load_rules
from tests.plugins.permissions.calls import bash
from tests.plugins.permissions.oracle import ALLOWED, Grammar, Recorder, is_covered

SECONDS = float(os.environ.get("ORACLE_SECONDS", "8"))
SEED = int(os.environ.get("ORACLE_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
WORKERS = min(8, os.cpu_count() or 2)
RULES = load_rules([Lists(scope="user", where="oracle", root="/", allow=ALLOWED)])


def test_every_program_that_an_allowed_command_runs_is_covered_by_a_rule(tmp_path: Path) -> None:
    """docs/permissions.md, "Commands". Seed and length: ORACLE_SEED, ORACLE_SECONDS."""
    assert Path("/bin/bash").exists(), "this test needs /bin/bash; install bash"
    print(f"ORACLE_SEED={SEED}")
    grammar = Grammar(SEED)
    recorders: SimpleQueue[Recorder] = SimpleQueue()
    for number in range(WORKERS):
        recorders.put(Recorder(tmp_path / str(number)))
    drawn = allowed = ran_count = 0
    found: list[str] = []

    def check(script: str) -> int:
        recorder = recorders.get()
        try:
            ran = recorder.run(script)
        finally:
            recorders.put(recorder)
        uncovered = [argv for argv in ran.argvs if not is_covered(argv)]
        if uncovered or ran.made or ran.odd_environment:
            found.append(f"{script!r}\n  ran {uncovered}, made {ran.made}, {ran.odd_environment=}")
        return len(ran.argvs)

    end = time.monotonic() + SECONDS
    with ThreadPoolExecutor(WORKERS) as pool:
        # A busy machine gets more time, until there is enough to say something.
        while not found and time.monotonic() < end + (30 if allowed < 100 else 0):
            batch: list[str] = []
            while len(batch) < 4 * WORKERS:
                drawn += 1
                script = grammar.script()
                call = bash(script, cwd=str(tmp_path / "0" / "work"))
                if decide(call, RULES, "default", True).outcome == "allow":
                    batch.append(script)
            allowed += len(batch)
            ran_count += sum(pool.map(check, batch))
    print(f"{drawn} commands drawn, {allowed} allowed and run, {ran_count} programs recorded")
    assert not found, f"ORACLE_SEED={SEED}: allowed, and yet\n" + "\n".join(found)
    # An oracle that allows nothing, or records nothing, would say nothing.
    assert allowed >= 100
    assert ran_count > allowed / 4
