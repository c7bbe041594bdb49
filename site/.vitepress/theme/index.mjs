import DefaultTheme from 'vitepress/theme-without-fonts'
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet
import './style.css'

export default DefaultTheme
