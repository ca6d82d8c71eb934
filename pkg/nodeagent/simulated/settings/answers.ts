/**
 * What a simulated container answers to HTTP requests and to commands. Pure.
 *
 *     http: { /healthz: 503, /: { status: 200, body: hello, headers: { a: b }, latency: 1s } }
 *     http: { /ready: [{ until: 30s, status: 503 }, 200] }
 *     exec: { 'cat /version': '1.2', 'pg_isready *': { stdout: no, stderr: '', exit-code: 2, latency: 1s } }
 *
 * Paths and commands may have `*` for any characters; an exact one goes before a pattern, an earlier pattern before a later.
 */

import { parseYAML } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import {
  duration,
  matchesGlob,
  membersOf,
  onlyMembers,
  type Parser,
  SettingError,
  shown,
  text,
  whole,
} from '#nodeagent/simulated/settings/values.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly latencyMs: number;
  /** Ends this long after the container's start. */
  readonly untilMs: number;
}

export interface ExecAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly latencyMs: number;
}

/** Answers by path or command, in the order of the text. */
export type Answers<T> = readonly (readonly [pattern: string, answer: T])[];

const maxAnswers = 200;
const status = whole(200, 599);
const code = whole(0, 255);
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const httpMembers = ['status', 'body', 'headers', 'latency', 'until'];
const execMembers = ['stdout', 'stderr', 'exit-code', 'latency'];

/** The value of an annotation, which is YAML; values of files are parsed already. */
function read(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseYAML(value);
  } catch (error) {
    throw new SettingError(`${shown(value)} is not YAML: ${messageOf(error)}`);
  }
}

function mapped<T>(value: unknown, what: string, parse: Parser<T>): Answers<T> {
  const members = membersOf(value, what);
  if (members.length > maxAnswers)
    throw new SettingError(`${members.length} answers: at most ${maxAnswers} are possible`);
  return members.map(([key, answer]) => {
    try {
      return [key, parse(answer)] as const;
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      throw new SettingError(`${shown(key)}: ${error.message}`);
    }
  });
}

function headersOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    membersOf(value ?? {}, 'headers').map(([name, given]) => {
      const header = text(given);
      if (!headerName.test(name) || /[^\t\x20-\x7e]/.test(header))
        throw new SettingError(`${shown(name)} is not a header`);
      return [name.toLowerCase(), header];
    }),
  );
}

const httpAnswer: Parser<HttpAnswer> = (value) => {
  const members = typeof value === 'number' ? [['status', value] as const] : membersOf(value, httpMembers.join(', '));
  onlyMembers(members, httpMembers);
  const given = Object.fromEntries(members);
  return {
    status: given['status'] === undefined ? 200 : status(given['status']),
    headers: headersOf(given['headers']),
    body: given['body'] === undefined ? '' : text(given['body']),
    latencyMs: given['latency'] === undefined ? 0 : duration(given['latency']),
    untilMs: given['until'] === undefined ? Infinity : duration(given['until']),
  };
};

const phases: Parser<readonly HttpAnswer[]> = (value) => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) throw new SettingError('a list without answers');
  return list.map(httpAnswer);
};

/** A single number is the status of every path. */
export const httpAnswers: Parser<Answers<readonly HttpAnswer[]>> = (value) => {
  const given = read(value);
  return typeof given === 'number' ? [['*', phases(given)]] : mapped(given, 'answers by path', phases);
};

export const execAnswers: Parser<Answers<ExecAnswer>> = (value) =>
  mapped(read(value), 'answers by command', (given): ExecAnswer => {
    const quiet = { stdout: '', stderr: '', exitCode: 0, latencyMs: 0 };
    if (typeof given === 'string') return { ...quiet, stdout: given };
    if (typeof given === 'number') return { ...quiet, exitCode: code(given) };
    const members = membersOf(given, execMembers.join(', '));
    onlyMembers(members, execMembers);
    const by = Object.fromEntries(members);
    return {
      stdout: by['stdout'] === undefined ? '' : text(by['stdout']),
      stderr: by['stderr'] === undefined ? '' : text(by['stderr']),
      exitCode: by['exit-code'] === undefined ? 0 : code(by['exit-code']),
      latencyMs: by['latency'] === undefined ? 0 : duration(by['latency']),
    };
  });

/** The answer of the key; undefined if there is none. */
export function answerFor<T>(answers: Answers<T> | undefined, key: string): T | undefined {
  const exact = answers?.find(([pattern]) => pattern === key);
  return (exact ?? answers?.find(([pattern]) => matchesGlob(pattern, key)))?.[1];
}

const notFound: HttpAnswer = {
  status: 404,
  headers: {},
  body: '404 page not found\n',
  latencyMs: 0,
  untilMs: Infinity,
};

/** The answer to a path, whose query does not matter, this long after the container's start; 404 for other paths. */
export function httpAnswerFor(answers: Answers<readonly HttpAnswer[]>, path: string, runningMs: number): HttpAnswer {
  const phases = answerFor(answers, path.split('?')[0] ?? path);
  return phases?.find(({ untilMs }) => runningMs < untilMs) ?? phases?.at(-1) ?? notFound;
}
