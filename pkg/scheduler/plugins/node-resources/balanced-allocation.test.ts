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
  ['nothing asked for', ten, {}, {}, 100],
  ['equal shares', ten, { cpu: '5', memory: '5Gi' }, {}, 100],
  ['all of both', ten, { cpu: '10', memory: '10Gi' }, {}, 100],
  ['all of one', ten, { cpu: '10' }, {}, 50],
  ['all of the other', ten, { memory: '10Gi' }, {}, 50],
  ['half of one', ten, { cpu: '5' }, {}, 75],
  ['a fifth and three fifths', ten, { cpu: '2', memory: '6Gi' }, {}, 80],
  ['a part of a hundredth is cut', ten, { cpu: '1', memory: '2Gi' }, {}, 95],
  ['with those that are there', ten, { cpu: '2' }, { cpu: '3', memory: '5Gi' }, 100],
  ['those that are there ask for the other', ten, { cpu: '5' }, { memory: '5Gi' }, 100],
  ['worse by the pod', ten, { cpu: '5' }, { cpu: '5', memory: '5Gi' }, 75],
  ['more than all counts as all', ten, { cpu: '20', memory: '10Gi' }, {}, 100],
  ['more than all of one', ten, { cpu: '20' }, {}, 50],
  ['what a pod does not ask for is not assumed', { cpu: '1', memory: '400Mi' }, { cpu: '500m' }, {}, 75],
  ['a node without memory', { cpu: '10' }, { cpu: '5' }, {}, 100],
  ['a node with nothing', {}, { cpu: '5' }, {}, 100],
  ['other resources do not count', { ...ten, 'x.io/gpu': '1' }, { cpu: '5', memory: '5Gi', 'x.io/gpu': '1' }, {}, 100],
]);

const gpu = 'x.io/gpu';
const both = { cpu: '10', memory: '10Gi', [gpu]: '4' };
table('three resources', of(['cpu', 'memory', gpu]), [
  ['equal shares', both, { cpu: '5', memory: '5Gi', [gpu]: '2' }, {}, 100],
  ['all of one', both, { cpu: '10', [gpu]: '0' }, {}, 50],
  ['all of the third', both, { [gpu]: '4' }, {}, 52],
  ['none of the third', both, { cpu: '10', memory: '10Gi' }, {}, 100],
  ['the third does not count when it is not asked for', both, { cpu: '5', memory: '5Gi' }, { [gpu]: '4' }, 100],
  ['the third counts with those that are there', both, { cpu: '5', memory: '5Gi', [gpu]: '1' }, { [gpu]: '1' }, 100],
  ['a node without the third', ten, { cpu: '5', memory: '5Gi', [gpu]: '1' }, {}, 100],
  ['an eighth, a quarter and a half', both, { cpu: '1250m', memory: '2560Mi', [gpu]: '2' }, {}, 84],
]);

table('one resource', of(['cpu']), [
  ['nothing is balanced', ten, { cpu: '10' }, {}, 100],
  ['of a node without it', { memory: '1Gi' }, { cpu: '1' }, {}, 100],
]);

const disk = 'ephemeral-storage';
table('ephemeral storage', of(['cpu', disk]), [
  ['equal shares', { cpu: '10', [disk]: '10Gi' }, { cpu: '1', [disk]: '1Gi' }, {}, 100],
  ['all of it', { cpu: '10', [disk]: '10Gi' }, { [disk]: '10Gi' }, {}, 50],
  ['with those that are there', { cpu: '10', [disk]: '10Gi' }, { cpu: '5' }, { [disk]: '5Gi' }, 100],
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
table('a node of 2 CPUs and 8 GiB, and one of 10 and 10', compared, [
  ['a pod of much CPU', { cpu: '2', memory: '2Gi' }, [62, 100]],
  ['a pod of much memory', { cpu: '1', memory: '4Gi' }, [100, 85]],
]);
