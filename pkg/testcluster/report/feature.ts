/**
 * `/test/report`: what the clients of the API did, and what they should not do; with the faults that they got.
 *
 * GET reports (`failOn=hot-loops,leftovers` lists the categories that shall be empty, `userAgent=operator*` selects clients),
 * DELETE begins anew. Requests of the cluster's own daemons are not recorded.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { realClock } from '#apimachinery/clock.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { faults } from '#testcluster/faults/feature.js';
import { isOwnUser } from '#testcluster/faults/own-users.js';
import type { ObservedRequest, TestEndpoint, TestFeatureFactory } from '#testcluster/feature/feature.js';
import { type Category, categories } from '#testcluster/report/analyze.js';
import { Recorder } from '#testcluster/report/recorder.js';
import { remainders } from '#testcluster/report/remainders.js';
import { buildReport } from '#testcluster/report/report.js';

/** The report observes a request before a fault may answer it. */
export const faultsAndReport: TestFeatureFactory = (cluster) => {
  const { clock, dialect } = cluster;
  const injected = faults(cluster);
  const newRecorder = () => new Recorder(clock);
  let recorder = newRecorder();
  let since = { clusterMs: clock.now(), realMs: realClock.monotonic() };
  const endpoint: TestEndpoint = {
    path: '/test/report',
    methods: ['GET', 'DELETE'],
    async handle({ method, query, signal }) {
      const failOn = categoriesOf(query.get('failOn') ?? '');
      const { log } = recorder;
      const report = buildReport({
        log,
        remaining: method === 'GET' ? await remainders(cluster.process().api.client, log, signal) : new Map(),
        clusterMs: clock.now() - since.clusterMs,
        realMs: realClock.monotonic() - since.realMs,
        faults: injected.counts(),
        userAgent: query.get('userAgent') ?? '*',
        failOn,
      });
      if (method === 'GET') return report;
      recorder = newRecorder();
      since = { clusterMs: clock.now(), realMs: realClock.monotonic() };
      return {};
    },
  };
  const around = (observed: ObservedRequest, next: () => MaybePromise<ApiResponse>) => {
    const passOn = () => injected.around(observed, next);
    if (!observed.info.resourceRequest || isOwnUser(observed.user.name, dialect)) return passOn();
    return recorder.observe(observed, passOn);
  };
  return { endpoints: [...injected.endpoints, endpoint], around };
};

/** Throws 400 for unknown categories. */
function categoriesOf(text: string): readonly Category[] {
  if (text === 'all') return categories;
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      const category = categories.find((each) => each === name);
      if (category === undefined)
        throw badRequest(`failOn: ${JSON.stringify(name)} is none of ${categories.join(', ')}`);
      return category;
    });
}
