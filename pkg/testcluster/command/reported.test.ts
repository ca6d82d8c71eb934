import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { OptionsError } from '#daemon/options/option.js';
import { faultsOf } from '#testcluster/command/fault-options.js';
import { reported } from '#testcluster/command/reported.js';
import type { Category } from '#testcluster/report/analyze.js';
import { buildReport, type Report } from '#testcluster/report/report.js';
import { RequestLog } from '#testcluster/report/request-log.js';

function reportOf(failed: readonly Category[]): Report {
  const input = { log: new RequestLog(), remaining: new Map(), clusterMs: 0, realMs: 1000, faults: [], userAgent: '*' };
  return { ...buildReport({ ...input, failOn: [] }), failed };
}

t.test('the exit code is that of the command, or 1 for findings', async (t) => {
  const requests: (readonly string[])[] = [];
  const cluster = (failed: readonly Category[]) => ({
    async report(failOn: readonly string[]) {
      requests.push(failOn);
      return reportOf(failed);
    },
  });
  t.equal(await reported(cluster(['owners']), { 'fail-on': [] }, 0), 0, 'no report is needed');
  t.same(requests, []);
  t.equal(await reported(cluster([]), { 'fail-on': ['owners'] }, 0), 0);
  t.equal(await reported(cluster(['owners']), { 'fail-on': ['owners', 'deletes'] }, 0), 1);
  t.equal(await reported(cluster(['owners']), { 'fail-on': ['owners'] }, 7), 7);
  t.same(requests, [['owners'], ['owners', 'deletes'], ['owners']]);
  const file = join(t.testdir(), 'report.json');
  t.equal(await reported(cluster([]), { 'fail-on': [], report: file }, 0), 0);
  t.match(JSON.parse(readFileSync(file, 'utf8')), { seconds: 1, findings: [], failed: [] });
});

t.test('a file of faults is checked before the cluster starts', async (t) => {
  const folder = t.testdir({ good: 'rules: [{answer: 500}]', wrong: 'rules: [{answer: 1}]' });
  t.same(faultsOf({}), {});
  t.same(faultsOf({ faults: join(folder, 'good') }), { faultPlan: 'rules: [{answer: 500}]' });
  const message = `--faults: ${join(folder, 'wrong')}: rules[0].answer.code: 1 is none of 409, 410, 429, 500, 503, 504`;
  t.throws(() => faultsOf({ faults: join(folder, 'wrong') }), new OptionsError([message]));
  t.throws(() => faultsOf({ faults: join(folder, 'none') }), /--faults: .*none: ENOENT/);
});
