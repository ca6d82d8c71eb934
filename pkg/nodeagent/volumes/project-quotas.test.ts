import t from 'tap';
import { silentLogger } from '#daemon/log/logger.js';
import type { Mount } from '#nodeagent/files/mounts.js';
import { ProjectQuotas, projectsIn } from '#nodeagent/volumes/project-quotas.js';

const quotaMount: Mount = { dir: '/data', type: 'xfs', options: ['rw', 'prjquota'] };

function setUp(mount: Mount, listing: () => string = () => '') {
  const ran: string[] = [];
  const messages: string[] = [];
  const quotas = new ProjectQuotas({
    log: { ...silentLogger, info: (...args: unknown[]) => messages.push(String(args.at(-1))) } as typeof silentLogger,
    mountOf: async () => mount,
    run: async (program, args) => {
      ran.push([program, ...args].join(' '));
      return program === 'lsattr' ? listing() : '';
    },
  });
  return { quotas, ran, messages };
}

t.test('a directory becomes a limited project until released', async (t) => {
  let listing = '';
  const { quotas, ran, messages } = setUp(quotaMount, () => listing);
  await quotas.limit('/data/pvc-1', 1_500_000);
  const project = /chattr -p (\d+) \+P \/data\/pvc-1/.exec(ran[1] ?? '')?.[1] ?? '';
  t.ok(Number(project) >= 2 ** 30);
  t.equal(ran[2], `setquota -P ${project} 0 1465 0 0 /data`);
  listing = `${project} ---------------P- /data/pvc-1\n`;
  ran.length = 0;
  await quotas.limit('/data/pvc-1', 2048);
  t.same(ran.slice(1), [`setquota -P ${project} 0 2 0 0 /data`], 'it stays the project that it is');
  ran.length = 0;
  await quotas.release('/data/pvc-1', async () => {
    ran.push('removed');
  });
  t.same(ran, ['lsattr -p -d -- /data/pvc-1', 'removed', `setquota -P ${project} 0 0 0 0 /data`]);
  t.same(messages, []);
});

t.test('every directory has its own project', async (t) => {
  const first = setUp(quotaMount);
  await first.quotas.limit('/data/pvc-1', 1);
  const project = Number(/-p (\d+)/.exec(first.ran[1] ?? '')?.[1]);
  const second = setUp(quotaMount, () => `${project} --- /data/other\n`);
  await second.quotas.limit('/data/pvc-1', 1);
  t.equal(Number(/-p (\d+)/.exec(second.ran[1] ?? '')?.[1]), project + 1);
});

t.test('missing quotas are logged once and change nothing', async (t) => {
  const { quotas, ran, messages } = setUp({ ...quotaMount, options: ['rw', 'noquota'] });
  for (const path of ['/data/a', '/data/b']) await quotas.limit(path, 1);
  await quotas.release('/data/a', async () => undefined);
  t.same(ran, []);
  t.equal(messages.length, 1, 'logged once');
  t.match(messages[0], /not mounted with prjquota/);
  const failing = new ProjectQuotas({
    log: silentLogger,
    mountOf: async () => quotaMount,
    run: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOENT' })),
  });
  await failing.limit('/data/a', 1);
  await t.rejects(
    failing.release('/data/a', () => Promise.reject(new Error('busy'))),
    /busy/,
  );
});

t.test('project IDs are parsed from the output of lsattr', (t) => {
  t.same(
    [...projectsIn('    0 --------------e------- /data/a b\n1073741900 --------------e----P-- /data/pvc-1\n\n')],
    [
      ['/data/a b', 0],
      ['/data/pvc-1', 1_073_741_900],
    ],
  );
  t.end();
});
