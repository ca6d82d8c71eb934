export interface Skip {
  /** Of the test; empty for all tests of a file. */
  readonly name: string;
  /** Empty where the test does not say. */
  readonly why: string;
}

/** Counts the leaves of TAP, as one process writes it, and keeps whatever failed in full. */
export class TapCount {
  passed = 0;
  failed = 0;
  readonly skips: Skip[] = [];
  readonly failures: string[] = [];
  #failing = false;

  add(line: string): void {
    const leaf = /^\s*(not )?ok \d+( - (.*))?$/.exec(line);
    if (leaf === null) {
      // A file that skips all it has. Other tests that do so are skipped in the lines of those that hold them.
      const [none, why = ''] = /^1\.\.0\b\s*#?\s*(.*)/.exec(line) ?? [];
      if (none !== undefined) this.skips.push({ name: '', why: why.replace(/^SKIP\S*\s*/i, '') });
      if (this.#failing && /^\s/.test(line)) this.failures.push(line);
      return;
    }
    const skip = /^\s*(?:not )?ok \d+(?: - (.*?))?\s*# SKIP\S*\s*(.*?)(?:\s*# time=.*)?$/i.exec(line);
    const isTodo = /# TODO/i.test(line);
    const isSubtest = line.trimEnd().endsWith('{') || / # time=/.test(line);
    this.#failing = leaf[1] !== undefined && skip === null && !isTodo;
    if (this.#failing) this.failures.push(line);
    if (skip !== null) this.skips.push({ name: skip[1] ?? '', why: skip[2] ?? '' });
    else if (isSubtest || isTodo) return;
    else if (leaf[1] === undefined) this.passed += 1;
    else this.failed += 1;
  }
}
