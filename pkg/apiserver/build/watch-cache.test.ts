import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { watchCacheOptions } from '#apiserver/build/watch-cache.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { parseOptions } from '#daemon/options/parse.js';

const named = (resource: string, group = '') => ({
  group,
  declaration: { group: group === '' ? ('core' as const) : ('apps' as const), resource },
});

function options(...argv: string[]) {
  const parsed = parseOptions(apiServerOptions(orchDialect), argv, { program: 'p' });
  if (parsed.kind !== 'run') throw new TypeError(parsed.kind);
  return watchCacheOptions(parsed.values);
}

t.test('events have no cache, other resources have one', async (t) => {
  const { isUncached, sized } = options();
  t.equal(isUncached(named('events')), true);
  t.equal(isUncached(named('pods')), false);
  t.equal(isUncached(named('events', 'apps')), false, 'other events');
  t.same(sized, []);
});

t.test('size 0 turns the cache of a resource off, other sizes have no effect', async (t) => {
  const { isUncached, sized } = options(
    '--watch-cache-sizes=pods#0,deployments.apps#0',
    '--watch-cache-sizes=events#5',
  );
  t.equal(isUncached(named('pods')), true);
  t.equal(isUncached(named('pods', 'apps')), false);
  t.equal(isUncached(named('deployments', 'apps')), true);
  t.equal(isUncached(named('events')), false, 'as in 1.24');
  t.same(sized, ['events']);
});

t.test('all caches may be off', async (t) => {
  const { isUncached, sized } = options('--watch-cache=false', '--watch-cache-sizes=pods#100');
  t.equal(isUncached(named('pods')), true);
  t.same(sized, []);
});
