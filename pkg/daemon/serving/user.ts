/** An authenticated user. */
export interface ServingUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUser: ServingUser = Object.freeze({
  name: 'system:anonymous',
  groups: Object.freeze(['system:unauthenticated']),
});

/** Client of the API server; declared here so that this package need not import the client. */
export interface ReviewClient {
  request<R>(method: string, path: string, body?: unknown, options?: { signal?: AbortSignal }): Promise<R>;
}
