import t from 'tap';
import { runCache } from '#storage/cache/cache-fixture.js';
import { watchCacheContract } from '#storage/cache/watch-cache-contract.js';

await watchCacheContract(t, runCache);
