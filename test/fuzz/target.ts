/** Something that is fuzzed: one file for each below `targets/`, entered in `targets.ts`. */
export interface FuzzJob {
  readonly seed: number;
  readonly milliseconds: number;
  /** To be told of each input: when it hears nothing for long, the last input has no end. */
  readonly onInput: (inputs: number) => void;
}

export interface FuzzReport {
  /** One line about what was tried. */
  readonly summary: string;
  /** Empty when all is well. */
  readonly problems: readonly string[];
}

export interface FuzzTarget {
  readonly name: string;
  /** Of the thread that it runs in: what it keeps beyond that is a leak. */
  readonly maxHeapMiB: number;
  /** May also throw what went wrong. */
  run(job: FuzzJob): Promise<FuzzReport>;
}
