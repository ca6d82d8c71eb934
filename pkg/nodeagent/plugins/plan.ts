/** Which plugins to register and which to deregister: the reconciler of 1.24's plugin manager. */

/** Sockets that exist: an identity by path. A socket that was made again has another identity. */
export type Sockets = ReadonlyMap<string, string>;

export interface PluginState {
  readonly sockets: Sockets;
  /** Plugins that a handler has, by the path of their socket. */
  readonly registered: Sockets;
  /** Sockets with work in progress. */
  readonly busy: ReadonlySet<string>;
  /** Milliseconds until work on a socket may start again; 0 if it may start now. */
  waitMs(path: string): number;
}

export interface PluginPlan {
  readonly deregister: readonly string[];
  readonly register: readonly string[];
  /** Milliseconds until the next plan may have more; undefined: only a change brings more. */
  readonly againMs?: number;
}

/** Each path is in at most one list: a socket that was made again is deregistered first. */
export function planPlugins({ sockets, registered, busy, waitMs }: PluginState): PluginPlan {
  const deregister = [...registered].filter(([path, identity]) => sockets.get(path) !== identity);
  const register = [...sockets].filter(([path]) => !registered.has(path));
  const waits: number[] = [];
  const isDue = ([path]: readonly [string, string]) => {
    if (busy.has(path)) return false;
    const ms = waitMs(path);
    if (ms > 0) waits.push(ms);
    return ms <= 0;
  };
  return {
    deregister: deregister.filter(isDue).map(([path]) => path),
    register: register.filter(isDue).map(([path]) => path),
    ...(waits.length === 0 ? {} : { againMs: Math.min(...waits) }),
  };
}
