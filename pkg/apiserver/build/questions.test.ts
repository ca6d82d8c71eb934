import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { QuestionParts } from '#apiserver/build/endpoints.js';
import { Questions, type QuestionsSetup } from '#apiserver/build/questions.js';
import { silentLogger } from '#daemon/log/logger.js';

t.test('a server that cannot prepare for questions goes on', async (t) => {
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (_fields: unknown, text: string) => void warnings.push(text) };
  const clock = { ...realClock, sleep: async () => undefined };
  const setup = { environment: { dialect, clock, turns: {}, log }, authorization: {}, handler: () => undefined };
  const questions = new Questions(setup as unknown as QuestionsSetup);
  const find = () => {
    throw new Error('EMFILE: too many open files');
  };
  questions.endpoint({ resources: { find }, responder: {} } as unknown as QuestionParts);
  await t.resolves(questions.prepare(new AbortController().signal));
  t.match(warnings, [/^cannot prepare/], 'the log says so');
});
