"""Writes the cases as a corpus that a test can read without Python: JSON lines, compressed by gzip.

    python corpus.py FILE

The README of internal/agentdojo describes the lines.
"""

import gzip
import hashlib
import json
import sys

import cases


def main(file):
    lines, known = [], {}
    for suite in sorted(cases.SUITES):
        lines.append({"suite": suite, "tools": cases.tools(suite)})
    results, played = [], []
    for suite, user, injection in cases.pairs():
        c = cases.plan(suite, user, injection)
        calls = []
        for i, p in enumerate(c.plan):
            text = c.results[i]
            if text not in known:
                known[text] = hashlib.sha256(text.encode()).hexdigest()[:12]
                results.append((p.tool, {"result": known[text], "text": text}))
            call = {"tool": p.tool, "args": p.args, "result": known[text]}
            if c.failed[i]:
                call["error"] = True
            if p.attacker:
                call["attacker"] = True
            if i in c.seen:
                call["injected"] = True
            calls.append(call)
        line = {"case": c.name, "suite": suite, "prompt": c.prompt, "calls": calls, "answer": c.answer}
        if injection:
            line |= {"goal": c.goal, "reached": c.security, "early": c.early}
        else:
            line |= {"done": c.utility}
        played.append(line)
    # Results of one tool are alike: side by side they compress well.
    lines += [r for _, r in sorted(results, key=lambda r: r[0])] + played
    with open(file, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        for line in lines:
            out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    print(len(played), "cases,", len(results), "results")


if __name__ == "__main__":
    main(sys.argv[1])
