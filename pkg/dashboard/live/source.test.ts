/** Lists and watches of one collection while connections break, history expires and rights change. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { ObjectsHolder } from '#dashboard/live/objects-holder.js';
import { Source } from '#dashboard/live/source.js';
import { type OpenWatch, ScriptedRequests } from '#dashboard/live/testing/scripted-requests.js';
import type { SourceQuery } from '#dashboard/model/messages.js';

/** All work that waits for no timer and no answer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

const object = (name: string, version: number, namespace = 'shop') => ({
  metadata: { name, namespace, resourceVersion: String(version) },
});
const added = (name: string, version: number) => ({ type: 'ADDED', object: object(name, version) });

class Setting {
  readonly requests = new ScriptedRequests();
  readonly clock = new ManualClock({ startMs: 0 });
  readonly holder = new ObjectsHolder();
  readonly source: Source;
  changes = 0;

  constructor(t: Test, query: SourceQuery = { path: '/api/v1/pods' }) {
    this.source = new Source(query, this.holder, {
      ...{ requests: this.requests, clock: this.clock },
      random: () => 0.5,
      onChange: () => {
        this.changes++;
      },
    });
    const over = this.source.run();
    t.teardown(async () => {
      this.source.close();
      await over;
    });
  }

  get names(): string[] {
    return [...this.holder.objects.values()].map(({ metadata }) => metadata.name ?? '').sort();
  }

  /** Answers the request that waits, with one page. */
  async list(version: number, names: readonly string[], next?: string): Promise<URL> {
    await settle();
    const request = this.requests.lists.shift();
    if (request === undefined) throw new Error('no list is asked for');
    request.answer({
      metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
      items: names.map((name) => object(name, version)),
    });
    await settle();
    return request.url;
  }

  async refuse(code: number): Promise<URL> {
    await settle();
    const request = this.requests.lists.shift();
    if (request === undefined) throw new Error('no list is asked for');
    request.refuse(code);
    await settle();
    return request.url;
  }

  async watch(): Promise<OpenWatch> {
    await settle();
    const watch = this.requests.watches.shift();
    if (watch === undefined) throw new Error('no watch is open');
    return watch;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms, settle);
  }

  get isQuiet(): boolean {
    return this.requests.lists.length + this.requests.watches.length === 0;
  }
}

t.test('a list is read page by page, then watched from its version', async (t) => {
  const s = new Setting(t, { path: '/api/v1/pods', labelSelector: 'app=web' });
  const first = await s.list(7, ['a'], 'more');
  t.same([first.searchParams.get('limit'), first.searchParams.get('labelSelector')], ['200', 'app=web'], 'first page');
  t.same(s.names, ['a'], 'the first page is shown at once');
  t.equal(s.source.liveness, 'loading', 'there is more');
  const second = await s.list(7, ['b']);
  t.same([second.searchParams.get('limit'), second.searchParams.get('continue')], ['1000', 'more'], 'second page');
  t.equal(s.source.liveness, 'live', 'after the last page');
  const watch = await s.watch();
  t.same(
    ['resourceVersion', 'labelSelector', 'allowWatchBookmarks', 'visible'].map((name) =>
      watch.url.searchParams.get(name),
    ),
    ['7', 'app=web', 'true', null],
    'the watch goes on from there',
  );
  watch.send(added('c', 8));
  watch.send({ type: 'MODIFIED', object: object('a', 9) });
  watch.send({ type: 'DELETED', object: object('b', 10) });
  await settle();
  t.same(s.names, ['a', 'c'], 'events');
});

t.test('a watch that the server ends goes on where it was, by bookmarks too', async (t) => {
  const s = new Setting(t);
  await s.list(7, ['a']);
  const first = await s.watch();
  first.send(added('b', 8));
  first.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '50' } } });
  first.end();
  const second = await s.watch();
  t.equal(second.url.searchParams.get('resourceVersion'), '50', 'the bookmark counts');
  t.same(s.names, ['a', 'b'], 'a bookmark is no object');
  t.equal(s.source.liveness, 'live', 'nothing is lost');
});

t.test('watches that end without a word are opened again after pauses', async (t) => {
  const s = new Setting(t);
  await s.list(7, []);
  for (const pauseMs of [1000, 2000, 4000]) {
    (await s.watch()).end();
    await s.pass(pauseMs - 1);
    t.ok(s.isQuiet, `nothing within ${pauseMs} ms`);
    await s.pass(1);
  }
  const watch = await s.watch();
  watch.send(added('a', 8));
  watch.end();
  await settle();
  t.equal((await s.watch()).url.searchParams.get('resourceVersion'), '8', 'at once after a word');
});

t.test('a lost connection is shown, and resumed after growing pauses', async (t) => {
  const s = new Setting(t);
  await s.list(7, ['a']);
  for (const pauseMs of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    (await s.watch()).end(0);
    await settle();
    t.equal(s.source.liveness, 'reconnecting', `reconnecting for ${pauseMs} ms`);
    t.equal(s.source.trouble?.code, 0, 'the trouble is shown');
    t.same(s.names, ['a'], 'what was there stays');
    await s.pass(pauseMs - 1);
    t.ok(s.isQuiet, `nothing within ${pauseMs} ms`);
    await s.pass(1);
  }
  const watch = await s.watch();
  t.equal(watch.url.searchParams.get('resourceVersion'), '7', 'no new list');
  watch.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
  await settle();
  t.equal(s.source.liveness, 'live', 'after the first word');
  t.equal(s.source.trouble, undefined, 'the trouble is over');
});

t.test('history that has expired leads to a new list, without what is gone', async (t) => {
  for (const how of ['status', 'event'] as const) {
    const s = new Setting(t);
    await s.list(7, ['a', 'b']);
    const watch = await s.watch();
    if (how === 'status') watch.end(410);
    else watch.send({ type: 'ERROR', object: { code: 410, message: 'too old resource version' } });
    await s.list(90, ['b', 'c']);
    t.same(s.names, ['b', 'c'], `${how}: the new list`);
    t.equal(s.source.trouble, undefined, `${how}: no trouble is shown`);
    t.equal((await s.watch()).url.searchParams.get('resourceVersion'), '90', `${how}: the watch goes on from it`);
  }
});

t.test('a server that has never history is not asked without end', async (t) => {
  const s = new Setting(t);
  await s.list(7, []);
  (await s.watch()).end(410);
  await s.list(8, []);
  (await s.watch()).end(410);
  await settle();
  t.ok(s.isQuiet, 'a pause');
  await s.pass(2000);
  await s.list(9, []);
});

t.test('a page that has expired begins the list anew', async (t) => {
  const s = new Setting(t);
  await s.list(7, ['a'], 'more');
  await s.refuse(410);
  const again = await s.list(20, ['b']);
  t.equal(again.searchParams.get('continue'), null, 'the first page');
  t.same(s.names, ['b'], 'without what only the old list had');
});

t.test('rights in some namespaces show the objects of those', async (t) => {
  const s = new Setting(t);
  t.equal((await s.refuse(403)).searchParams.get('visible'), null, 'first all');
  t.equal((await s.list(7, ['a'])).searchParams.get('visible'), 'true', 'then what is visible');
  t.ok(s.source.isPartial, 'the page can say so');
  t.equal(s.source.trouble, undefined, 'no trouble');
  const watch = await s.watch();
  t.equal(watch.url.searchParams.get('visible'), 'true', 'the watch, too');
  // The server's answer to a watch that resumes from before a change of rights.
  watch.end(410);
  await s.list(8, ['a', 'b']);
  t.notOk(s.source.isPartial, 'after the user was given all rights');
  t.equal((await s.watch()).url.searchParams.get('visible'), null, 'watches all');
});

t.test('a list of one namespace has no other way', async (t) => {
  const s = new Setting(t, { path: '/api/v1/namespaces/shop/pods' });
  await s.refuse(403);
  t.ok(s.isQuiet, 'refused');
  t.equal(s.source.trouble?.code, 403, 'and shown');
});

t.test('what may no longer be read is no longer shown, and tried again after a minute', async (t) => {
  const s = new Setting(t);
  await s.list(7, ['a']);
  (await s.watch()).end(403);
  await settle();
  t.same(s.names, ['a'], 'the list may still be allowed');
  await s.pass(60_000);
  await s.refuse(403);
  await s.refuse(403);
  t.same(s.names, [], 'nothing is shown');
  t.equal(s.source.trouble?.code, 403, 'but why');
  await s.pass(59_999);
  t.ok(s.isQuiet, 'for a minute');
  await s.pass(1);
  await s.list(9, ['b']);
  t.same(s.names, ['b'], 'the rights are back');
  t.equal(s.source.trouble, undefined, 'no trouble');
});

t.test('collections without watches are read every 15 s', async (t) => {
  const s = new Setting(t, { path: '/apis/metrics/v1/nodes', isUnwatched: true });
  await s.list(0, ['a']);
  await s.pass(14_999);
  t.ok(s.isQuiet, 'not before');
  await s.pass(1);
  await s.list(0, ['b']);
  t.same(s.names, ['b'], 'the new list');
});

t.test('a closed source asks for nothing more', async (t) => {
  const s = new Setting(t);
  await s.list(7, ['a']);
  const watch = await s.watch();
  s.source.close();
  await s.pass(120_000);
  t.ok(watch.isOver, 'its watch has ended');
  t.ok(s.isQuiet, 'no request');
});
