/** Rules about values of options. Pure. */

export function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}

/** The options among `names` that have no value; undefined: all have one. */
export function unsetOptions(names: readonly string[], read: (name: string) => string | undefined): string | undefined {
  const absent = names.filter((name) => !isSet(read(name)));
  return absent.length === 0 ? undefined : `not set: ${absent.map((name) => `--${name}`).join(', ')}`;
}

/** The command that sets an option of the API server. */
export function apiServerArg(option: string): string {
  return `orch up --apiserver-arg=${option}`;
}
