/** A fuzz target, listed in `targets.ts`. */
export interface FuzzJob {
  readonly seed: number;
  readonly milliseconds: number;
  /** Called for each input: without calls for long, the last input hangs. */
  readonly onInput: (inputs: number) => void;
}

export interface FuzzReport {
  /** One line about the run. */
  readonly summary: string;
  /** Empty without problems. */
  readonly problems: readonly string[];
}

export interface FuzzTarget {
  readonly name: string;
  /** Heap limit of its thread: more would be a leak. */
  readonly maxHeapMiB: number;
  /** May also throw a failure. */
  run(job: FuzzJob): Promise<FuzzReport>;
}
