/** Requests to the API server, however they are sent. */

export interface Requests {
  /** The parsed body. Throws RequestError. */
  json<T>(path: string, options?: { readonly accept?: string; readonly signal?: AbortSignal }): Promise<T>;
  /** A response's lines as they arrive, for watches and logs. Throws RequestError. */
  lines(path: string, options: { readonly accept?: string; readonly signal: AbortSignal }): AsyncIterable<string>;
}

/** Appends the parameters that are set. */
export function withQuery(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value);
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
