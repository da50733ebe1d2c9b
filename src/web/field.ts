import { type Child, html } from './html.ts';

/** A field of a form with its label, what is to be known of it, and what was wrong with it. */
export interface Field {
  /** Its name in the form. */
  readonly name: string;
  /** Unique in the page; the name unless given. */
  readonly id?: string;
  readonly label: string;
  readonly type?: 'text' | 'password';
  readonly value?: string;
  readonly hint?: string | undefined;
  /** Why what was typed was refused, one sentence. */
  readonly problem?: string | undefined;
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
  readonly maxLength?: number;
  readonly autocomplete?: 'off' | 'current-password' | 'new-password';
  /** Names and ids: a phone must not change them. */
  readonly isExact?: boolean;
}

export function field(of: Field): Child {
  const { name, id = name, label, type = 'text', value = '', hint, problem } = of;
  const described = [hint && `${id}-hint`, problem && `${id}-error`].filter(Boolean).join(' ');
  const error = html`<p class="error" id="${id}-error" role="alert">${problem}</p>`;
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${of.autocomplete ?? 'off'}"${attributes(of, described)}>${problem && error}
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}`;
}

function attributes({ maxLength, isExact, isRequired, hasFocus, problem }: Field, described: string): Child {
  return [
    maxLength !== undefined && html` maxlength="${maxLength}"`,
    isExact && html` autocapitalize="none" spellcheck="false"`,
    isRequired && html` required`,
    hasFocus && html` autofocus`,
    described !== '' && html` aria-describedby="${described}"`,
    problem !== undefined && html` aria-invalid="true"`,
  ];
}
