/** Headers that mean a list: one value for each line, as clients and front proxies of 1.24 send them. */

export interface ReceivedHeaders {
  /** Lower-case names; Node.js joins the lines of a name with `, `. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Names and values in turn, each line as it came; absent within the process. */
  readonly rawHeaders?: readonly string[];
}

/**
 * The values of a header, which may have commas in them: a group's name is no list of groups. Only where a request comes
 * without its lines, as within the process, are joined ones taken apart. `name` is in lower case.
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
