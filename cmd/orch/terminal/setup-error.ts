/** Something that the user can set right; printed without a stack. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
