import type { ResourceWeight } from '#scheduler/plugins/node-resources/amounts.js';
import { balancedAllocation } from '#scheduler/plugins/node-resources/balanced-allocation.js';
import { node, scores, table } from '#scheduler/testing/plugin-table.js';

type List = Readonly<Record<string, string>>;

const asking = (requests: List) => ({ containers: [{ name: 'c', resources: { requests } }] });
const of =
  (names: readonly string[] | undefined) =>
  (allocatable: List, requests: List, there: List = {}): number | undefined =>
    scores(
      balancedAllocation(
        names === undefined ? {} : { resources: names.map((name): ResourceWeight => ({ name, weight: 1 })) },
      ),
      { spec: asking(requests) },
      { nodes: [node('n', {}, { allocatable })], pods: [{ spec: asking(there) }] },
    )[0];
const ten = { cpu: '10', memory: '10Gi' };

table('CPU and memory', of(undefined), [
  ['no requests', ten, {}, {}, 100],
  ['equal shares', ten, { cpu: '5', memory: '5Gi' }, {}, 100],
  ['all of both resources', ten, { cpu: '10', memory: '10Gi' }, {}, 100],
  ['all of the CPU', ten, { cpu: '10' }, {}, 50],
  ['all of the memory', ten, { memory: '10Gi' }, {}, 50],
  ['half of the CPU', ten, { cpu: '5' }, {}, 75],
  ['a fifth and three fifths', ten, { cpu: '2', memory: '6Gi' }, {}, 80],
  ['fractions of a hundredth are cut off', ten, { cpu: '1', memory: '2Gi' }, {}, 95],
  ['requests of placed pods count', ten, { cpu: '2' }, { cpu: '3', memory: '5Gi' }, 100],
  ['placed pods request the other resource', ten, { cpu: '5' }, { memory: '5Gi' }, 100],
  ['the pod makes the use less balanced', ten, { cpu: '5' }, { cpu: '5', memory: '5Gi' }, 75],
  ['requests above the capacity count as all', ten, { cpu: '20', memory: '10Gi' }, {}, 100],
  ['CPU requests above the capacity', ten, { cpu: '20' }, {}, 50],
  ['no default is assumed for absent requests', { cpu: '1', memory: '400Mi' }, { cpu: '500m' }, {}, 75],
  ['a node without memory', { cpu: '10' }, { cpu: '5' }, {}, 100],
  ['a node without resources', {}, { cpu: '5' }, {}, 100],
  ['other resources do not count', { ...ten, 'x.io/gpu': '1' }, { cpu: '5', memory: '5Gi', 'x.io/gpu': '1' }, {}, 100],
]);

const gpu = 'x.io/gpu';
const both = { cpu: '10', memory: '10Gi', [gpu]: '4' };
table('three resources', of(['cpu', 'memory', gpu]), [
  ['equal shares', both, { cpu: '5', memory: '5Gi', [gpu]: '2' }, {}, 100],
  ['all of the CPU', both, { cpu: '10', [gpu]: '0' }, {}, 50],
  ['all of the third resource', both, { [gpu]: '4' }, {}, 52],
  ['nothing of the third resource', both, { cpu: '10', memory: '10Gi' }, {}, 100],
  ['a third resource that the pod does not request is skipped', both, { cpu: '5', memory: '5Gi' }, { [gpu]: '4' }, 100],
  ['the third resource of placed pods counts', both, { cpu: '5', memory: '5Gi', [gpu]: '1' }, { [gpu]: '1' }, 100],
  ['a node without the third resource', ten, { cpu: '5', memory: '5Gi', [gpu]: '1' }, {}, 100],
  ['an eighth, a quarter and a half', both, { cpu: '1250m', memory: '2560Mi', [gpu]: '2' }, {}, 84],
]);

table('one resource', of(['cpu']), [
  ['a single resource is always balanced', ten, { cpu: '10' }, {}, 100],
  ['a node without the resource', { memory: '1Gi' }, { cpu: '1' }, {}, 100],
]);

const disk = 'ephemeral-storage';
table('ephemeral storage', of(['cpu', disk]), [
  ['equal shares', { cpu: '10', [disk]: '10Gi' }, { cpu: '1', [disk]: '1Gi' }, {}, 100],
  ['all of the storage', { cpu: '10', [disk]: '10Gi' }, { [disk]: '10Gi' }, {}, 50],
  ['requests of placed pods count', { cpu: '10', [disk]: '10Gi' }, { cpu: '5' }, { [disk]: '5Gi' }, 100],
]);

const weighted = (requests: List, ...weights: number[]) =>
  scores(
    balancedAllocation({ resources: ['cpu', 'memory'].map((name, i) => ({ name, weight: weights[i] ?? 1 })) }),
    { spec: asking(requests) },
    { nodes: [node('n', {}, { allocatable: ten })] },
  );
table('weights', weighted, [['do not matter', { cpu: '10' }, 5, 1, [50]]]);

const nodes = [node('small', {}, { allocatable: { cpu: '2', memory: '8Gi' } }), node('even', {}, { allocatable: ten })];
const compared = (requests: List) => scores(balancedAllocation(), { spec: asking(requests) }, { nodes });
table('a node with 2 CPUs and 8 GiB, and a node with 10 CPUs and 10 GiB', compared, [
  ['a pod with much CPU', { cpu: '2', memory: '2Gi' }, [62, 100]],
  ['a pod with much memory', { cpu: '1', memory: '4Gi' }, [100, 85]],
]);
