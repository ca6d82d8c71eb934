/** Counts the leaves of TAP, as one process writes it, and keeps whatever failed in full. */
export class TapCount {
  passed = 0;
  failed = 0;
  readonly failures: string[] = [];
  #failing = false;

  add(line: string): void {
    const leaf = /^\s*(not )?ok \d+( - (.*))?$/.exec(line);
    if (leaf === null) {
      if (this.#failing && /^\s/.test(line)) this.failures.push(line);
      return;
    }
    const isTodo = /# (TODO|SKIP)/i.test(line);
    const isSubtest = line.trimEnd().endsWith('{') || / # time=/.test(line);
    this.#failing = leaf[1] !== undefined && !isTodo;
    if (this.#failing) this.failures.push(line);
    if (isSubtest || isTodo) return;
    if (leaf[1] === undefined) this.passed += 1;
    else this.failed += 1;
  }
}
