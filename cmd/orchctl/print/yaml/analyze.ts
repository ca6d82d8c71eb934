/** Which styles may hold a text, by the rules of libyaml's emitter. Pure. */

export interface Styles {
  readonly plainAllowed: boolean;
  readonly singleAllowed: boolean;
  readonly blockAllowed: boolean;
}

const firstIndicators = new Set([...'#,[]{}&*!|>\'"%@`']);
const isBreak = (character: string | undefined) =>
  character !== undefined && /^[\n\r\x85\u2028\u2029]$/.test(character);
const isBlank = (character: string | undefined) => character === undefined || character === ' ' || character === '\t';
const unprintable = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;

export function analyze(text: string): Styles {
  if (text === '') return { plainAllowed: true, singleAllowed: true, blockAllowed: false };
  const characters = [...text];
  let isIndicator = text.startsWith('---') || text.startsWith('...');
  let [breakSpace, spaceBreak, hasBreaks] = [false, false, false];
  characters.forEach((character, i) => {
    const previous = i === 0 ? undefined : characters[i - 1];
    const next = characters[i + 1];
    if (i === 0 && firstIndicators.has(character)) isIndicator = true;
    if (i === 0 && (character === '?' || character === '-') && (isBlank(next) || isBreak(next))) isIndicator = true;
    if (character === ':' && isBlank(next)) isIndicator = true;
    if (character === '#' && i > 0 && (isBlank(previous) || isBreak(previous))) isIndicator = true;
    if (character === ' ' && isBreak(previous)) breakSpace = true;
    if (isBreak(character)) {
      hasBreaks = true;
      if (previous === ' ') spaceBreak = true;
    }
  });
  const [first, last] = [characters[0], characters.at(-1)];
  const isPadded = first === ' ' || last === ' ' || isBreak(first) || isBreak(last);
  const isSpecial = unprintable.test(text);
  return {
    plainAllowed: !(isPadded || breakSpace || spaceBreak || isSpecial || hasBreaks || isIndicator),
    singleAllowed: !(breakSpace || spaceBreak || isSpecial),
    blockAllowed: !(last === ' ' || spaceBreak || isSpecial),
  };
}
