/** Result of a probe or a lifecycle hook. */
export interface CheckResult {
  readonly success: boolean;
  /** The check could not be made, so it says nothing about the container. Not a success. */
  readonly isUnknown?: boolean;
  /** Succeeded, but with a warning event. */
  readonly isWarning?: boolean;
  /** Text for events; only the first few hundred characters matter. */
  readonly output: string;
  /** Status code of an HTTP response. */
  readonly statusCode?: number;
  /** How a failed command ended. */
  readonly error?: string;
}

/** Result of a check that could not be made. */
export const unknown = (output: string): CheckResult => ({ success: false, isUnknown: true, output });
export const failure = (output: string): CheckResult => ({ success: false, output });
