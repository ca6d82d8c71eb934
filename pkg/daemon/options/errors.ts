/** Everything that is wrong with a command line, at once. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join('\n'));
    this.messages = messages;
  }
}
