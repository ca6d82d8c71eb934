/** The text of whatever was thrown: not everything that is thrown is an Error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
