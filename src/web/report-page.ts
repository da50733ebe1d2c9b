import type { Refusal } from '../refusals.ts';
import { EXACT, field } from './forms.ts';
import { html, WRITTEN } from './html.ts';
import { page, script, soleCard } from './page.ts';
import type { Site } from './site.ts';
import { explain } from './words.ts';

/** The form as it was filled in. */
interface ReportForm {
  /** The address of a note or of a feed. */
  readonly target: string;
  readonly reason: string;
  readonly contact: string;
  /** Why it was refused. */
  readonly refusal?: Refusal | undefined;
}

/** Limits of what can be typed, in characters. */
interface ReportLimits {
  readonly reason: number;
  readonly contact: number;
}

/** The page at `/report`, where readers say what is wrong with a note. */
export function reportPage(site: Site, form: ReportForm, limits: ReportLimits): string {
  const { target, reason, contact, refusal } = form;
  const problemOf = (name: string) => (refusal?.field === name ? explain(refusal) : undefined);
  const problem = problemOf('reason');
  return page(site, {
    title: 'Report a note',
    main: html`${soleCard(
      'Report a note',
      html`<p>Whoever runs this instance reads it, and decides. Nobody else sees it.</p>
${refusal !== undefined && refusal.field === undefined && html`<p class="error" role="alert">${explain(refusal)}</p>`}
<form method="post" action="${site.root}/report">
${field({
  name: 'target',
  label: 'Address of the note, or of the feed',
  value: target,
  problem: problemOf('target'),
  attributes: html`${EXACT} required`,
})}
<label for="reason">What is wrong with it</label>
<textarea id="reason" name="reason" rows="6" maxlength="${limits.reason}" required ${WRITTEN}${
        problem !== undefined && html` aria-describedby="reason-error" aria-invalid="true"`
      }${(target !== '' || problem !== undefined) && html` autofocus`}>
${reason}</textarea>${problem !== undefined && html`<p class="error" id="reason-error" role="alert">${problem}</p>`}
${field({
  name: 'contact',
  label: 'How to reach you (optional)',
  value: contact,
  problem: problemOf('contact'),
  hint: 'Only needed if you want an answer.',
  attributes: html`maxlength="${limits.contact}" ${WRITTEN}`,
})}
<p class="actions"><button class="primary">Send the report</button></p>
</form>`,
    )}
${script(site, 'reachable')}`,
  });
}

/** What is shown once a report is stored. */
export function reportedPage(site: Site): string {
  return page(site, {
    title: 'Thank you',
    main: soleCard(
      'Thank you',
      html`<p role="status">Your report is stored. Whoever runs this instance will read it.</p>
<p class="actions"><a class="button" href="${site.root}/">To the start page</a></p>`,
    ),
  });
}
