/** The features of every cluster for tests, one line each. The first one's `around` is called first: `world` counts what the others delay. */
import type { TestFeatureFactory } from '#testcluster/feature/feature.js';
import { podRules } from '#testcluster/pods/feature.js';
import { faultsAndReport } from '#testcluster/report/feature.js';
import { world } from '#testcluster/world.js';

export const features: readonly TestFeatureFactory[] = [world, podRules, faultsAndReport];
