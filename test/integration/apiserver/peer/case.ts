/** What is sent to both implementations: a sequence of requests about objects that no other case touches. */

export interface Step {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly contentType?: string;
  readonly accept?: string;
  /** `$rv` and `$uid` in a text stand for those of the last object that was answered. */
  readonly body?: string | Buffer;
  /** Among what is sent before cases: repeated while the answer is 404. */
  readonly untilFound?: true;
}

export interface Case {
  /** The resource: `apps.v1.deployments`. Its answers are kept in a file of that name. */
  readonly file: string;
  /** What is special about it, for people; unique within the file. */
  readonly id: string;
  /** Name of its object. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** Requests whose answers are not compared, sent before the next case of the file begins: it cannot share the server. */
  readonly cleanup?: readonly Step[];
  /** The server itself writes to its objects, too: what is refused for a conflict is tried again with the newest version. */
  readonly sharedWithServer?: boolean;
}

/** The cases of one file. */
export interface CaseSet {
  readonly file: string;
  /** Sent before the cases, for what all of them need; their answers are not compared. */
  readonly steps: readonly Step[];
  readonly cases: readonly Case[];
}
