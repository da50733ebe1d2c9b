// All that writing takes, loaded as one file once the page is shown.
export { boxFor } from './box.ts';
export { editNote, offerEdits } from './edit.ts';
export { newNote } from './new-note.ts';
