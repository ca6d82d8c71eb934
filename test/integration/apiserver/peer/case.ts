/** A case: requests sent to both implementations, about objects that no other case touches. */

export interface Step {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  /** `$rv` and `$uid` in a text stand for those of the last object in an answer. */
  readonly body?: string | Buffer;
  /** For preparations only: repeated while the answer is 404. */
  readonly untilFound?: true;
}

export interface Case {
  /** The resource, such as `apps.v1.deployments`, and the name of the file with its answers. */
  readonly file: string;
  /** Describes the case; unique within the file. */
  readonly id: string;
  /** Name of its object. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** Requests sent before the next case of the file, whose answers are not compared: the case cannot share the server. */
  readonly cleanup?: readonly Step[];
  /** The server itself also writes to the objects: conflicts are retried with the latest version. */
  readonly sharedWithServer?: boolean;
}

/** The cases of one file. */
export interface CaseSet {
  readonly file: string;
  /** Preparations of all cases; their answers are not compared. */
  readonly steps: readonly Step[];
  readonly cases: readonly Case[];
}
