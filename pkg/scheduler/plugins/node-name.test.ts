import { nodeName } from '#scheduler/plugins/node-name.js';
import { answer, answers, node, table } from '#scheduler/testing/plugin-table.js';

const no = "!node(s) didn't match the requested node name";
const ask = (required: string | undefined, name: string) =>
  answer(nodeName, { spec: required === undefined ? {} : { nodeName: required } }, { nodes: [node(name)] }, name);

table('the node that a pod names', ask, [
  ['none', undefined, 'a', 'ok'],
  ['an empty name is none', '', 'a', 'ok'],
  ['this one', 'a', 'a', 'ok'],
  ['another', 'b', 'a', no],
  ['one that begins like it', 'a', 'a1', no],
  ['one that it begins like', 'a1', 'a', no],
  ['one that ends like it', '1', 'a1', no],
  ['large letters are others', 'A', 'a', no],
  ['a blank counts', 'a ', 'a', no],
  ['a blank alone is a name', ' ', 'a', no],
  ['with dots', 'a.example.com', 'a.example.com', 'ok'],
  ['short for it', 'a', 'a.example.com', no],
  ['a name of many words', 'ip-10-0-0-1', 'ip-10-0-0-1', 'ok'],
  ['another number', 'ip-10-0-0-1', 'ip-10-0-0-10', no],
  ['no pattern', '*', 'a', no],
  ['no list', 'a,b', 'a', no],
]);

const nodes = ['a', 'b', 'c'].map((name) => node(name));
table('among several nodes', (required: string) => answers(nodeName, { spec: { nodeName: required } }, { nodes }), [
  ['one', 'b', 'no ok no'],
  ['none of them', 'd', 'no no no'],
  ['any', '', 'ok ok ok'],
]);
