"""The end of Pyverbs that a spec drives. Each line of the input is a command with its arguments; each line of the output
is its answer: "ok" and the results, or "error" and the reason, with which the program ends.

    python3 peer.py queues DEVICE GID_INDEX    a device, memory and one queue pair: see queues.py
    python3 peer.py connection DEVICE          a connection by the connection manager: see connection.py
"""
import importlib
import sys


def main(part, *arguments):
    end = importlib.import_module(part).End(*arguments)
    for line in sys.stdin:
        name, *words = line.split()
        try:
            answer = getattr(end, name)(*words)
        except Exception as failure:
            print("error", type(failure).__name__, " ".join(str(failure).split()), flush=True)
            raise
        print("ok", *(() if answer is None else answer), flush=True)


main(*sys.argv[1:])
