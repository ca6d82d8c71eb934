/** What came of a probe or a lifecycle hook. */
export interface CheckResult {
  readonly success: boolean;
  /** Nobody could find out: it says nothing about the container. Not a success. */
  readonly isUnknown?: boolean;
  /** Succeeded, but somebody should know. */
  readonly isWarning?: boolean;
  /** For events; at most a few hundred characters matter. */
  readonly output: string;
  /** Of an HTTP server's answer. */
  readonly statusCode?: number;
  /** How a command ended that failed. */
  readonly error?: string;
}

/** Of a check that could not be made. */
export const unknown = (output: string): CheckResult => ({ success: false, isUnknown: true, output });
export const failure = (output: string): CheckResult => ({ success: false, output });
