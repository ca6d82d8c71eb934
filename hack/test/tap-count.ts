/** Counts the leaves of TAP, as one process writes it, and keeps whatever failed in full. */
export class TapCount {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly failures: string[] = [];
  #failing = false;

  add(line: string): void {
    const leaf = /^\s*(not )?ok \d+( - (.*))?$/.exec(line);
    if (leaf === null) {
      // A file that skips all it has. Other tests that do so are skipped in the lines of those that hold them.
      if (/^1\.\.0\b/.test(line)) this.skipped += 1;
      if (this.#failing && /^\s/.test(line)) this.failures.push(line);
      return;
    }
    const isSkipped = /# SKIP/i.test(line);
    const isTodo = /# TODO/i.test(line);
    const isSubtest = line.trimEnd().endsWith('{') || / # time=/.test(line);
    this.#failing = leaf[1] !== undefined && !isSkipped && !isTodo;
    if (this.#failing) this.failures.push(line);
    if (isSkipped) this.skipped += 1;
    else if (isSubtest || isTodo) return;
    else if (leaf[1] === undefined) this.passed += 1;
    else this.failed += 1;
  }
}
