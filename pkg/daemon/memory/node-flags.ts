/** Flags and environment that Node.js needs at its start to run a daemon; `bin/*` set the same. */

/**
 * Without a limit the young generation grows to 48 MB at the first burst of work and stays there. A quarter of that is
 * collected four times as often, at the same total cost while hardly any object survives. The API server's writes wait
 * for etcd and survive: with half of 48 MB a write costs a twelfth less than with a quarter.
 */
function semiSpaceMb(program: string): number {
  return program === 'orch-apiserver' ? 8 : 4;
}

/** Node.js flags for a program. */
export function daemonNodeFlags(program: string): readonly string[] {
  return [`--max-semi-space-size=${semiSpaceMb(program)}`];
}

/**
 * A fixed threshold keeps glibc from adapting to freed large blocks: it would serve later blocks of that size from its
 * heap, and keep tens of megabytes after each burst. A node agent has little to do for several threads at once: with one
 * arena instead of one for each thread it takes several megabytes less.
 */
export function daemonEnvironment(program: string): Readonly<Record<string, string>> {
  const trim = { MALLOC_TRIM_THRESHOLD_: '1048576' };
  return program === 'nodeagent' ? { ...trim, MALLOC_ARENA_MAX: '1' } : trim;
}
