/** A runtime with some calls replaced, for tests. */
import type { CRI } from '#nodeagent/cri/cri.js';

/** `calls`: looked up at each call, so that a test may change them. */
export function overrideCalls(cri: CRI, calls: Partial<CRI>): CRI {
  return new Proxy(cri, {
    get(target, name) {
      const own: unknown = Reflect.get(calls, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
