/** The rows of all resources that keep objects. */
import { administrationCases } from '#test/integration/apiserver/resources/administration.js';
import { clusterCases } from '#test/integration/apiserver/resources/cluster.js';
import { coreCases } from '#test/integration/apiserver/resources/core.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

export const everyCase: readonly AnyCase[] = [...coreCases, ...workloadCases, ...clusterCases, ...administrationCases];
