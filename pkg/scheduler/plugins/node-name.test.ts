import { nodeName } from '#scheduler/plugins/node-name.js';
import { answer, answers, node, table } from '#scheduler/testing/plugin-table.js';

const no = "!node(s) didn't match the requested node name";
const ask = (required: string | undefined, name: string) =>
  answer(nodeName, { spec: required === undefined ? {} : { nodeName: required } }, { nodes: [node(name)] }, name);

table('the node that a pod names', ask, [
  ['the pod names no node', undefined, 'a', 'ok'],
  ['an empty name means no node', '', 'a', 'ok'],
  ['the same name', 'a', 'a', 'ok'],
  ['another name', 'b', 'a', no],
  ['a prefix of the node name', 'a', 'a1', no],
  ['the node name is a prefix', 'a1', 'a', no],
  ['a suffix of the node name', '1', 'a1', no],
  ['names are case-sensitive', 'A', 'a', no],
  ['a trailing space counts', 'a ', 'a', no],
  ['a single space is a name', ' ', 'a', no],
  ['a name with dots', 'a.example.com', 'a.example.com', 'ok'],
  ['the first part of a name with dots', 'a', 'a.example.com', no],
  ['a name with hyphens', 'ip-10-0-0-1', 'ip-10-0-0-1', 'ok'],
  ['a name with another number', 'ip-10-0-0-1', 'ip-10-0-0-10', no],
  ['wildcards are not supported', '*', 'a', no],
  ['lists are not supported', 'a,b', 'a', no],
]);

const nodes = ['a', 'b', 'c'].map((name) => node(name));
table('among several nodes', (required: string) => answers(nodeName, { spec: { nodeName: required } }, { nodes }), [
  ['one node has the name', 'b', 'no ok no'],
  ['no node has the name', 'd', 'no no no'],
  ['any node without a name', '', 'ok ok ok'],
]);
