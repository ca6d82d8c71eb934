/**
 * `/test/snapshots`: saves and restores the cluster's whole state.
 *
 *     GET                        lists
 *     POST {"save": "empty"}     saves, and replaces one of that name
 *     POST {"restore": "empty"}
 *     DELETE ?name=empty
 */
import { formatTime } from '#apimachinery/clock.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { TestEndpoint } from '#testcluster/feature/feature.js';
import { fieldsOf } from '#testcluster/feature/fields.js';
import type { SnapshotInfo, Snapshots } from '#testcluster/snapshot/snapshots.js';

export function snapshotEndpoint(snapshots: Snapshots): TestEndpoint {
  return {
    path: '/test/snapshots',
    methods: ['GET', 'POST', 'DELETE'],
    async handle({ method, query, body }) {
      if (method === 'GET') return { snapshots: snapshots.list().map(shown) };
      if (method === 'DELETE') {
        const name = nameOf('name', query.get('name') ?? undefined);
        if (!snapshots.delete(name)) throw missing(name);
        return { deleted: name };
      }
      const { save, restore } = fieldsOf(body, ['save', 'restore']);
      if ((save === undefined) === (restore === undefined))
        throw badRequest('exactly one of save and restore is required');
      if (save !== undefined) return shown(await saved(snapshots, nameOf('save', save)));
      const name = nameOf('restore', restore);
      const restored = await snapshots.restore(name);
      if (restored === undefined) throw missing(name);
      return { ...shown(restored), changed: restored.changed };
    },
  };
}

async function saved(snapshots: Snapshots, name: string): Promise<SnapshotInfo> {
  try {
    return await snapshots.save(name);
  } catch (error) {
    if (error instanceof RangeError) throw badRequest(error.message, error);
    throw error;
  }
}

function shown({ name, objects, atMs }: SnapshotInfo) {
  return { name, objects, time: formatTime(atMs) };
}

const namePattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

function nameOf(field: string, value: unknown): string {
  if (typeof value === 'string' && namePattern.test(value)) return value;
  throw badRequest(`${field}: a snapshot's name has up to 63 letters, digits, dots, hyphens and underscores`);
}

function missing(name: string): Error {
  return notFound({ group: '', resource: 'snapshots' }, name);
}
