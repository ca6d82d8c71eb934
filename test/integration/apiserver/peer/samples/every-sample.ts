/** Samples of all kinds served without extra gates. */
import { administrationSamples } from '#test/integration/apiserver/peer/samples/administration.js';
import { coreSamples } from '#test/integration/apiserver/peer/samples/core.js';
import { networkSamples } from '#test/integration/apiserver/peer/samples/network.js';
import { reviewSamples } from '#test/integration/apiserver/peer/samples/reviews.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';
import { storageSamples } from '#test/integration/apiserver/peer/samples/storage.js';
import { workloadSamples } from '#test/integration/apiserver/peer/samples/workloads.js';

/** In the order in which types are first seen, where each of their fields is changed in every way. */
export const everySample: readonly Sample[] = [
  ...coreSamples,
  ...workloadSamples,
  ...networkSamples,
  ...storageSamples,
  ...administrationSamples,
  ...reviewSamples,
];
