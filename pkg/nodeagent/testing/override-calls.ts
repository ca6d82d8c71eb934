/** For tests: a runtime of which some calls are answered by somebody else. */
import type { CRI } from '#nodeagent/cri/cri.js';

/** @param calls Looked up at each call, so that a test may change them meanwhile. */
export function withCalls(cri: CRI, calls: Partial<CRI>): CRI {
  return new Proxy(cri, {
    get(target, name) {
      const own: unknown = Reflect.get(calls, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
