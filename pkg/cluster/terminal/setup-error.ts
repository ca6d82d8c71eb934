/** A problem that the user can fix; printed without a stack. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
