/** Names of webhooks' hosts: one question at a time for each, however many connections wait for the answer. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * The system's own look-ups run in the few threads that read files, too: a name server that does not answer must not take
 * all of them.
 */
export function sharedLookup(resolve: Resolve): LookupFunction {
  const asking = new Map<string, Promise<readonly LookupAddress[]>>();
  const ask = (name: string) => {
    const known = asking.get(name);
    if (known !== undefined) return known;
    const answer = resolve(name).finally(() => asking.delete(name));
    asking.set(name, answer);
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
