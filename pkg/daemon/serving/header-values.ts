/** Headers with several values, one line each, as clients and front proxies of 1.24 send them. */

export interface ReceivedHeaders {
  /** Lower-case names; Node.js joins lines of the same name with `, `. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Names and values alternating, as received; absent for requests within the process. */
  readonly rawHeaders?: readonly string[];
}

/**
 * All values of a header. A value may contain commas, such as a group's name; only without raw lines is the joined
 * value split. `name` is in lower case.
 */
export function headerValues({ headers, rawHeaders }: ReceivedHeaders, name: string): string[] {
  const joined = headers[name];
  if (joined === undefined) return [];
  if (rawHeaders === undefined) return [joined].flat().flatMap((text) => text.split(',').flatMap(present));
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '');
  }
  return values.flatMap(present);
}

function present(value: string): string[] {
  const text = value.trim();
  return text === '' ? [] : [text];
}
