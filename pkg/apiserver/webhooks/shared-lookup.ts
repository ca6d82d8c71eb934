/** DNS lookups shared by concurrent connections to the same host. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * System lookups run in the small thread pool that also reads files: an unresponsive name server must not occupy all of its
 * threads.
 */
export function sharedLookup(resolve: Resolve): LookupFunction {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  const ask = (name: string) => {
    const shared = pending.get(name);
    if (shared !== undefined) return shared;
    const answer = resolve(name).finally(() => pending.delete(name));
    pending.set(name, answer);
    return answer;
  };
  return (name, { all }, done) => {
    ask(name).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined)
          done(Object.assign(new Error('no such host'), { code: 'ENOTFOUND', hostname: name }), '');
        else if (all === true) done(null, [...addresses]);
        else done(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    );
  };
}
