/** Lists and watches of what a user may see, against the union of namespaces, while objects and permissions change at random. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { clusterrolebindings, clusterroles, rolebindings } from '#api/rbac/v1/resources.gen.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { isExpired } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { requestInfo } from '#apiserver/http/request-info.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { Visibility, type VisibilityOptions } from '#apiserver/visibility/visibility.js';
import { VisibleWatch } from '#apiserver/visibility/visible-watch.js';
import { any, exact, latest, runCache, thing } from '#storage/cache/cache-fixture.js';
import type { WatchCache } from '#storage/cache/watch-cache.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Entry, ResourceEvent } from '#storage/resource-storage.js';

const namespaces = ['a', 'ab', 'b', 'c', 'd'];
const users: readonly UserInfo[] = [
  { name: 'alice', groups: ['dev', 'system:authenticated'] },
  { name: 'bob', groups: ['ops', 'system:authenticated'] },
];

type Subject = 'alice' | 'bob' | 'dev' | 'ops';

/** Permissions, written as a search through everything. */
class Model {
  /** Namespace and subject of bindings; an empty namespace is everywhere. */
  readonly bindings = new Map<
    string,
    { readonly namespace: string; readonly subject: Subject; readonly role: string }
  >();
  /** Roles with the right. */
  readonly able = new Set<string>();

  allows(user: UserInfo, namespace: string): boolean {
    return [...this.bindings.values()].some(
      (binding) =>
        (binding.namespace === '' || binding.namespace === namespace) &&
        (binding.subject === user.name || user.groups.includes(binding.subject)) &&
        this.able.has(binding.role),
    );
  }
}

/** Followers of the roles and bindings; changes come when the test says so. */
class Changes implements Pick<ObjectReader, 'follow'> {
  readonly #followers = new Map<string, Follower<ApiObjectShape>>();

  follow<T extends ApiObjectShape>(type: ResourceType<T>, follower: Follower<T>): Promise<void> {
    this.#followers.set(type.resource, follower as Follower<ApiObjectShape>);
    follower.replaced?.([]);
    return Promise.resolve();
  }

  changed(resource: string, object: ApiObjectShape): void {
    this.#followers.get(resource)?.changed(object);
  }

  removed(resource: string, object: ApiObjectShape): void {
    this.#followers.get(resource)?.removed(object);
  }
}

interface Setting {
  readonly store: MemoryStore;
  readonly cache: WatchCache;
  readonly changes: Changes;
  readonly visibility: Visibility;
  readonly resource: ServedResource;
}

async function setting(t: Test): Promise<Setting> {
  const store = new MemoryStore({ clock: realClock });
  const cache = runCache(t, store);
  await cache.waitReady();
  const changes = new Changes();
  const index = new RbacIndex();
  const stop = new AbortController();
  await index.start(changes as Changes & ObjectReader, stop.signal);
  const storages = {
    stores: { all: [store] },
    storeAt: () => store,
    storageOf: () => ({ prefix: '/registry/rolebindings/' }),
  } as unknown as VisibilityOptions['storages'];
  const visibility = new Visibility({ dialect, authorizer: new RbacAuthorizer(index, dialect), index, storages });
  await visibility.start(stop.signal);
  const declaration = { group: 'core', version: 'v1', resource: 'pods', kind: 'Pod', namespaced: true };
  const resource = { declaration, storage: cache } as unknown as ServedResource;
  return { store, cache, changes, visibility, resource };
}

const listInfo = requestInfo({ method: 'GET', url: '/api/v1/pods?visible=true' });
const watchInfo = requestInfo({ method: 'GET', url: '/api/v1/pods?watch=true&visible=true' });
const odd = (entry: Entry) => (entry.object() as { value: number }).value % 2 === 1;

/** A client that lists, watches, loses its connection and resumes. */
class WatchingClient {
  readonly objects = new Map<string, bigint>();
  readonly seen = new Set<string>();
  lists = 0;
  resumptions = 0;
  #version: bigint | undefined;
  #watch: VisibleWatch | undefined;
  #end: LazyAbort | undefined;
  #isPaused = false;
  readonly #setting: Setting;
  readonly user: UserInfo;
  readonly match: ((entry: Entry) => boolean) | undefined;
  readonly random: () => number;

  constructor(given: Setting, user: UserInfo, { match, random }: Pick<WatchingClient, 'match' | 'random'>) {
    this.#setting = given;
    this.user = user;
    this.match = match;
    this.random = random;
  }

  async connect(): Promise<void> {
    const { cache, visibility, resource } = this.#setting;
    if (this.#version === undefined && this.random() < 0.7) await this.list();
    const since = this.#version;
    if (since === undefined) this.objects.clear();
    else this.resumptions++;
    const visible = visibility.of(watchInfo, this.user, resource);
    if (visible === undefined) throw new Error('not ready');
    const end = new LazyAbort();
    const match = this.match;
    const session = cache.watch({
      ...{ scope: '', version: since === undefined ? any : exact(since), bookmarks: true, signal: end },
      ...(match && { match, selection: 'odd' }),
    });
    const watch = new VisibleWatch({
      ...{ visible, storage: cache, session, match, since, bookmarks: true, signal: end },
      pause: () => (this.random() < 0.5 ? undefined : nextTurn()),
    });
    this.#watch = watch;
    this.#end = end;
    this.#isPaused = false;
    try {
      await watch.opened();
    } catch (error) {
      if (!isExpired(error)) throw error;
    }
    watch.follow({
      events: (batch) => {
        if (this.#watch !== watch) return true;
        for (const event of batch) this.#take(event);
        this.#isPaused = this.random() < 0.3;
        return !this.#isPaused;
      },
      ended: (failure) => {
        if (this.#watch !== watch) return;
        this.#watch = undefined;
        if (failure !== undefined && !isExpired(failure.error)) throw failure.error;
        if (failure !== undefined) this.#version = undefined;
      },
    });
  }

  disconnect(): void {
    this.#watch = undefined;
    this.#end?.abort(new Error('gone'));
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#watch?.resume();
  }

  get connected(): boolean {
    return this.#watch !== undefined;
  }

  async list(): Promise<void> {
    const { cache, visibility, resource } = this.#setting;
    const visible = visibility.of(listInfo, this.user, resource);
    const { entries, revision } = await cache.list({
      ...{ scope: '', version: latest },
      ...(this.match && { match: this.match }),
      ...(visible && { admits: (namespace: string) => visible.admits(namespace) }),
    });
    visible?.sent(revision);
    this.lists++;
    this.objects.clear();
    for (const entry of entries) this.objects.set(entry.key, entry.revision);
    this.#version = revision;
  }

  #take(event: ResourceEvent): void {
    if (event.type !== 'BOOKMARK') {
      const { key, revision } = event.entry;
      this.seen.add(key.split('/')[3] ?? '');
      if (event.type === 'DELETED') this.objects.delete(key);
      else this.objects.set(key, revision);
    }
    this.#version = event.type === 'BOOKMARK' ? event.revision : event.entry.revision;
  }
}

const seed = Number(process.env['SEED'] ?? 39);

t.test(`watches follow objects and permissions (SEED=${seed})`, async (t) => {
  let resumptions = 0;
  let lists = 0;
  for (let history = 0; history < 12; history++) {
    const random = seededRandom(seed + history);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const given = await setting(t);
    const { store, cache, changes } = given;
    const model = new Model();
    const everAllowed = new Map(users.map(({ name }) => [name, new Set<string>()]));
    /** Changes of permissions that the server has not noticed yet. */
    const late: (() => void)[] = [];
    const clients = users.flatMap((user) => [
      new WatchingClient(given, user, { match: undefined, random }),
      new WatchingClient(given, user, { match: odd, random }),
    ]);
    const bump = async (): Promise<string> => {
      const { revision } = await store.create(`/registry/permissions/${random()}`, Buffer.from('x'));
      return String(revision);
    };
    const notice = () => {
      for (const user of users) {
        for (const namespace of namespaces) {
          if (model.allows(user, namespace)) everAllowed.get(user.name)?.add(namespace);
        }
      }
    };
    const changeBinding = async () => {
      const name = pick(['x', 'y', 'z']);
      const namespace = random() < 0.1 ? '' : pick(namespaces);
      const resource = namespace === '' ? clusterrolebindings.resource : rolebindings.resource;
      const id = `${namespace}/${name}`;
      const old = model.bindings.get(id);
      const subject = pick<Subject>(['alice', 'bob', 'dev', 'ops']);
      const role = pick(['viewer', 'other']);
      const object = {
        metadata: { name, ...(namespace !== '' && { namespace }), resourceVersion: await bump() },
        roleRef: { kind: 'ClusterRole', name: role },
        subjects: [
          subject === 'dev' || subject === 'ops' ? { kind: 'Group', name: subject } : { kind: 'User', name: subject },
        ],
      };
      if (old !== undefined && random() < 0.6) {
        model.bindings.delete(id);
        late.push(() => changes.removed(resource, object));
      } else {
        model.bindings.set(id, { namespace, subject, role });
        late.push(() => changes.changed(resource, object));
      }
      notice();
    };
    const changeRole = async () => {
      const name = pick(['viewer', 'other']);
      const able = random() < 0.7;
      if (able) model.able.add(name);
      else model.able.delete(name);
      const rules = able ? [{ verbs: ['list', 'watch'], apiGroups: [''], resources: ['pods'] }] : [];
      const object = { metadata: { name, resourceVersion: await bump() }, rules };
      late.push(() => changes.changed(clusterroles.resource, object));
      notice();
    };
    const changeObject = async () => {
      const key = `${pick(namespaces)}/${pick(['p', 'q', 'r', 's'])}`;
      const old = cache.cached(key);
      const value = Math.floor(random() * 100);
      if (old === undefined) await cache.create(key, thing(key, value));
      else if (random() < 0.4) await cache.delete(key, old.revision);
      else await cache.update(key, thing(key, value), old.revision);
    };

    const wrong: string[] = [];
    for (let step = 0; step < 150; step++) {
      const what = random();
      if (what < 0.45) await changeObject();
      else if (what < 0.6) await changeBinding();
      else if (what < 0.65) await changeRole();
      else if (what < 0.75) late.shift()?.();
      else if (what < 0.85) pick(clients).disconnect();
      else if (what < 0.95) pick(clients).resume();
      else await nextTurn();
      for (const client of clients) if (!client.connected && random() < 0.3) await client.connect();
      if (step % 10 !== 9) continue;
      // Let everything settle, then compare.
      for (let change = late.shift(); change !== undefined; change = late.shift()) change();
      await cache.list({ scope: '', version: latest });
      for (let turn = 0; turn < 60; turn++) {
        for (const client of clients) {
          client.resume();
          if (!client.connected) await client.connect();
        }
        await nextTurn();
      }
      for (const { user, match, objects, seen } of clients) {
        const expected = cache
          .cachedIn('')
          .filter((entry) => model.allows(user, entry.key.split('/')[3] ?? '') && match?.(entry) !== false)
          .map((entry) => `${entry.key}@${entry.revision}`);
        const actual = [...objects].map(([key, revision]) => `${key}@${revision}`).sort();
        if (String(actual) !== String(expected.sort())) {
          wrong.push(`history ${history} step ${step} ${user.name}: ${actual} instead of ${expected}`);
        }
        for (const namespace of seen) {
          if (everAllowed.get(user.name)?.has(namespace) !== true) wrong.push(`${user.name} saw ${namespace}`);
        }
      }
    }
    t.same(wrong, [], `history ${history}`);
    for (const client of clients) {
      resumptions += client.resumptions;
      lists += client.lists;
      client.disconnect();
    }
    await store.close();
  }
  t.ok(resumptions > lists, `${resumptions} resumptions, ${lists} lists: most connections resume`);
});
