/** Answers groups in front of an API server, as servers of metrics and of kinds of their own would behind it. */
import type { APIGroup, APIGroupList } from '#api/meta/v1/types.gen.js';
import type { InProcessHandler, InProcessRequest, InProcessResponse } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';

type Answer = (request: InProcessRequest) => object | Promise<object>;

export interface Front {
  /** By what their path, query included, begins with below `/apis/`; the first that fits is asked. */
  readonly answers: Map<string, Answer>;
  /** Shown by discovery, too. */
  readonly groups: APIGroup[];
  readonly handler: InProcessHandler;
}

/** Only what the server has no path for is answered: who may ask is up to the server. */
export function frontOf(next: InProcessHandler): Front {
  const answers = new Map<string, Answer>();
  const groups: APIGroup[] = [];
  const handler = async (request: InProcessRequest): Promise<InProcessResponse> => {
    const response = await next(request);
    if (request.url === '/apis' && groups.length > 0 && response.status === 200) {
      const { body } = response;
      const bytes = body === undefined || Buffer.isBuffer(body) ? body : await readAll(body);
      const list = JSON.parse(String(bytes)) as APIGroupList;
      return json({ ...list, groups: [...list.groups, ...groups] });
    }
    if (response.status !== 404) return response;
    for (const [path, answer] of answers)
      if (request.url.startsWith(`/apis/${path}`)) return json(await answer(request));
    return response;
  };
  return { answers, groups, handler };
}

function json(value: object): InProcessResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}
